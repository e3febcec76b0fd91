#include "mpi/comm.h"
