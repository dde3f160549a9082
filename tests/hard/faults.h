// Faults of a disk: the n-th call that writes in a folder fails with an error of one's choice. A
// library to be loaded before a program (LD_PRELOAD), told by its environment; and the same inside
// a test program, told by these functions.
#pragma once

extern "C" {

/// Counts from 1 again. `folder`: only what lies in it (an absolute path; empty: nothing). The
/// `at`-th call fails with `error`, an errno; 0: none does. `stays`: so do all behind it.
void headlight_faults_begin(const char* folder, int at, int error, bool stays);
/// How many calls there have been since.
int headlight_faults_seen();
/// What failed first, as "rename /folder/name"; "" while nothing has.
const char* headlight_faults_failed();
}
