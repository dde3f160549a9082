// A sum that loses next to nothing: `rest` is what rounding has added too much (Kahan 1965).
struct Sum {
  float all, rest;
};

void add_to(inout Sum sum, float x) {
  precise float y = x - sum.rest;
  precise float t = sum.all + y;
  precise float r = (t - sum.all) - y;
  sum.rest = is_nan(t) || is_infinite(t) ? 0.0 : r;
  sum.all = t;
}
