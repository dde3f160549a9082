// Rows of a table by distance: a pair of query and key has that of i + offset − j, and what is farther
// than `ahead` behind the query or `back` before it has the row at the end. Of `tables` tables each
// matrix has its own, or all have the first.
uniform uint rows, ahead, offset, tables;

uint row_of(uint query, uint key) {  // cell: all of it
  int distance = int(query + offset) - int(key);
  return uint(clamp(distance, -int(ahead), int(rows - 1u - ahead)) + int(ahead));
}
