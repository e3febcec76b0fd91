#include "io/target.h"
