#include "core/lab/labs/labs.h"
