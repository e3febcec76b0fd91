mf_test(NAME mpi_comm SOURCE unit/mpi_comm.c ROOM "mf_mpi" RANKS 1 2 3 4)
mf_test(NAME mpi_slab SOURCE unit/mpi_slab.c ROOM "mf_mpi" RANKS 1 2 3 4 7)
mf_test(NAME mpi_turn SOURCE unit/mpi_turn.c ROOM "mf_mpi" RANKS 1 2 3 4 7)
foreach(name mpi_comm mpi_slab)
  target_link_libraries(${name} PRIVATE MPI::MPI_C) # they turn knobs of mpi/comm_priv.h
endforeach()
