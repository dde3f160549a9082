// A gradient is written over what was there, or added to it: uniform `adds`.
uniform uint adds;
float before(float old) { return adds != 0u ? old : 0.0; }  // cell
