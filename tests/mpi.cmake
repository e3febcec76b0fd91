mf_test(NAME mpi_comm SOURCE unit/mpi_comm.c ROOM "mf_mpi" RANKS 1 2 3 4)
# Without a launcher: a rank by itself; with the word that there is one all the same.
add_test(NAME mpi_comm_lone COMMAND mpi_comm lone)
add_test(NAME mpi_comm_asked COMMAND mpi_comm)
set_tests_properties(mpi_comm_lone PROPERTIES TIMEOUT 300 LABELS unit ENVIRONMENT "${MF_TEST_ENV}")
set_tests_properties(mpi_comm_asked PROPERTIES TIMEOUT 300 LABELS unit ENVIRONMENT "${MF_TEST_ENV};MESOFORGE_MPI=1")
mf_test(NAME mpi_group SOURCE unit/mpi_group.c ROOM "mf_mpi" RANKS 1 2 3 4)
mf_test(NAME mpi_meet SOURCE unit/mpi_meet.c ROOM "mf_mpi" RANKS 3)
mf_test(NAME mpi_launched SOURCE unit/mpi_launched.c ROOM mf_mpi)
mf_test(NAME mpi_wait SOURCE unit/mpi_wait.c ROOM mf_mpi)
mf_test(NAME mpi_judge SOURCE unit/mpi_judge.c ROOM mf_mpi)
mf_test(NAME mpi_heartbeat SOURCE unit/mpi_heartbeat.c ROOM mf_mpi)
mf_test(NAME mpi_watch_line SOURCE unit/mpi_watch_line.c ROOM mf_mpi)
mf_test(NAME mpi_slab SOURCE unit/mpi_slab.c ROOM "mf_mpi" RANKS 1 2 3 4 7)
mf_test(NAME mpi_redistribute SOURCE unit/mpi_redistribute.c ROOM "mf_mpi" RANKS 1 2 3 4 7)
mf_test(NAME mpi_halo SOURCE unit/mpi_halo.c ROOM "mf_mpi" RANKS 1 2 3 4 7)
mf_test(NAME mpi_collect SOURCE unit/mpi_collect.c ROOM "mf_mpi" RANKS 1 2 3 4)
mf_test(NAME mpi_arrays SOURCE unit/mpi_arrays.c ROOM "mf_mpi" RANKS 1 2 3 4)
mf_in(in fast)
add_test(NAME mpi_collect_apart COMMAND ${MF_MPIEXEC} -n 3 $<TARGET_FILE:mpi_collect> ${in})
set_tests_properties(mpi_collect_apart PROPERTIES TIMEOUT 300 LABELS unit ENVIRONMENT "${MF_TEST_ENV};MF_SHARE=0")
# As on several nodes, side by side or in turn: memory that some ranks share, messages between the others.
set(mpi_nodes 2 2r -1)
set(mpi_nodes_ranks 3 4)
if(MF_SANITIZE)
  set(mpi_nodes 2r)
  set(mpi_nodes_ranks 3)
endif()
foreach(nodes ${mpi_nodes})
  foreach(n ${mpi_nodes_ranks})
    set(when)
    if(n EQUAL 4 AND NOT nodes STREQUAL "2") # nodes of two ranks each stand side by side alone
      set(when CONFIGURATIONS long)
    endif()
    foreach(name mpi_redistribute mpi_comm mpi_group mpi_halo mpi_collect)
      add_test(NAME ${name}_nodes_${nodes}_${n} COMMAND ${MF_MPIEXEC} -n ${n} $<TARGET_FILE:${name}> ${when})
      set_tests_properties(${name}_nodes_${nodes}_${n} PROPERTIES TIMEOUT 300 LABELS unit
        ENVIRONMENT "${MF_TEST_ENV};MF_NODES=${nodes}")
    endforeach()
  endforeach()
endforeach()
foreach(name mpi_comm mpi_group mpi_meet mpi_slab mpi_halo mpi_collect mpi_arrays)
  target_link_libraries(${name} PRIVATE MPI::MPI_C) # they turn knobs of mpi/comm_priv.h
endforeach()

# However a rank leaves, the job ends: status and line of each way. The checked build has its own ways in a usual run. Two ranks are for
# a long one: who looks on there is the only one.
add_executable(mpi_end unit/mpi_end.c)
target_link_libraries(mpi_end PRIVATE mf_mpi MPI::MPI_C)
function(mf_end_test way ranks status line)
  set(name mpi_end_${way}_${ranks})
  add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/mpi_end.sh ${status} "${line}"
    ${MF_MPIEXEC} -n ${ranks} $<TARGET_FILE:mpi_end> ${way} ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT 300 LABELS unit ENVIRONMENT "${MF_TEST_ENV}")
endfunction()
foreach(n 2 3)
  math(EXPR last "${n} - 1")
  mf_in(in fast)
  set(own)
  if(n EQUAL 2)
    set(in CONFIGURATIONS long)
    set(own ${in})
  endif()
  mf_end_test(none ${n} 0 "" ${in})
  mf_end_test(exit ${n} 70 "broken: rank ${last} of ${n} ended without closing" ${in})
  mf_end_test(die ${n} 4 "broken: device lost on rank ${last}" ${in})
  mf_end_test(stop ${n} 4 "broken: rank ${last} on .* has not come to agreement.* is stopped" ${in})
  mf_end_test(busy ${n} 4 "broken: rank ${last} on .* has not come to agreement.* rank 0 on .* has waited for" ${in})
  mf_end_test(error ${n} 4 "broken: a rank or a link between ranks is lost" ${in})
  mf_end_test(long ${n} 4 "broken: x\\{900,1010\\}; try: look behind it$" ${in})
  mf_end_test(kill ${n} any "" ${in})
  mf_end_test(build ${n} 4 "ranks run different builds: '${last}' here, '0' on rank 0\\|ranks run different builds: '1'" ${in})
  math(EXPR first "${n} - 2") # of expert group 1: ranks 0 and 1, or 1 and 2
  set(sum "broken: rank ${last} on .* has not come to sum of 1 of expert group 1, where rank ${first} on .* has waited for")
  mf_end_test(group_sum ${n} 4 "${sum}" ${in})
  mf_end_test(group_receive ${n} 4
    "broken: rank ${last} on .* has not sent to rank ${first} on .*, which has waited for .* in receive from rank ${last} of expert group 1" ${in})
  mf_end_test(group_circle ${n} 4
    "broken: rank [0-2] is in receive from rank [0-2] of expert group 1 and rank [0-2] in receive .* they wait for each other" ${in})
  mf_end_test(collect_late ${n} 4 "broken: rank ${last} on .* has not come to \\(finish of exchange 1\\|start of sum of numbers, 100000\\), where rank 0 on .* has waited for" ${in})
  mf_end_test(collect_kill ${n} any "" ${in})
  mf_end_test(collect_busy ${n} 4 "broken: rank ${last} on .* has not come to \\(agreement\\|finish of exchange 1\\), where rank 0 on .* has waited for" ${in})
  # As on nodes that share no memory: the ranks tell each other by datagrams.
  add_test(NAME mpi_end_apart_${n} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/mpi_end.sh 4
    "broken: rank ${last} on .* has not come to agreement.* rank 0 on .* has waited for"
    env MF_SHARE=0 ${MF_MPIEXEC} -n ${n} $<TARGET_FILE:mpi_end> busy ${in})
  add_test(NAME mpi_end_group_apart_${n} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/mpi_end.sh 4 "${sum}"
    env MF_SHARE=0 ${MF_MPIEXEC} -n ${n} $<TARGET_FILE:mpi_end> group_sum ${in})
  add_test(NAME mpi_end_collect_apart_${n} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/mpi_end.sh 4
    "broken: rank ${last} on .* has not come to finish of exchange 1, where rank 0 on .* has waited for"
    env MF_SHARE=0 ${MF_MPIEXEC} -n ${n} $<TARGET_FILE:mpi_end> collect_busy ${in})
  set_tests_properties(mpi_end_apart_${n} mpi_end_group_apart_${n} mpi_end_collect_apart_${n} PROPERTIES TIMEOUT 300 LABELS unit ENVIRONMENT "${MF_TEST_ENV}")
  if(MF_CHECK_COLLECTIVES)
    mf_end_test(close ${n} 70 "broken: rank ${last} is in close, rank 0 in agreement (collective" ${own})
    mf_end_test(collect_other ${n} 70 "broken: rank ${last} is in start of sum of numbers, 100001, rank 0 in start of sum of numbers, 100000 (collective" ${own})
    mf_end_test(other ${n} 70 "broken: rank ${last} is in maximum of 1, rank 0 in sum of 1 (collective" ${own})
    mf_end_test(group_other ${n} 70 "broken: rank ${last} is in maximum of 1, rank ${first} in sum of 1 (collective 2 of expert group 1)" ${own})
  else()
    mf_end_test(close ${n} 70 "broken: rank ${last} has closed the communicator, rank 0 is in agreement" ${own})
  endif()
endforeach()
# A launcher that started several tasks none of which sees the others; and a batch script's own shell, which is no step.
add_test(NAME mpi_end_launcher COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/mpi_end.sh 4 "[a-z ]*started 4 tasks (SLURM_NTASKS)"
  env SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_JOB_ID=1 SLURM_STEP_ID=0 $<TARGET_FILE:mpi_end> none)
add_test(NAME mpi_end_launcher_silent COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/mpi_end.sh 4 ""
  env SLURM_PROCID=2 SLURM_NTASKS=4 $<TARGET_FILE:mpi_end> none)
add_test(NAME mpi_end_batch COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/mpi_end.sh 0 ""
  env SLURM_PROCID=0 SLURM_NTASKS=4 SLURM_JOB_ID=1 $<TARGET_FILE:mpi_end> none)
# A step of one task, submitted from inside a rank of another mpirun, whose variables came along.
add_test(NAME mpi_end_step COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/mpi_end.sh 0 ""
  env OMPI_COMM_WORLD_SIZE=4 SLURM_PROCID=0 SLURM_NTASKS=1 SLURM_STEP_NUM_TASKS=1 SLURM_JOB_ID=1 SLURM_STEP_ID=0
  $<TARGET_FILE:mpi_end> none)
foreach(begin OMPI_COMM_WORLD_ PMI_) # an mpirun of another MPI
  add_test(NAME mpi_end_launcher_${begin} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/mpi_end.sh 4 "the launcher started 4 tasks (${begin}SIZE)"
    env ${begin}SIZE=4 ${begin}RANK=0 $<TARGET_FILE:mpi_end> none)
  set_tests_properties(mpi_end_launcher_${begin} PROPERTIES TIMEOUT 300 LABELS unit ENVIRONMENT "${MF_TEST_ENV}")
endforeach()
set_tests_properties(mpi_end_launcher mpi_end_launcher_silent mpi_end_batch mpi_end_step PROPERTIES TIMEOUT 300 LABELS unit ENVIRONMENT "${MF_TEST_ENV}")

# The program itself, which ends where a rank may wait for another and the watch does not know.
if(NOT MF_SANITIZE)
  add_executable(mesoforge_waits ${PROJECT_SOURCE_DIR}/src/main.c tool/waits.c)
  target_link_libraries(mesoforge_waits PRIVATE mf_cmd MPI::MPI_C)
  target_compile_options(mesoforge_waits PRIVATE -Wno-missing-prototypes)
  target_link_options(mesoforge_waits PRIVATE LINKER:--build-id LINKER:--wrap=mf_watch_open LINKER:--wrap=mf_watch_close
    LINKER:--wrap=mf_watch_enter LINKER:--wrap=mf_watch_leave)
  add_test(NAME waits COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/waits.py $<TARGET_FILE:mesoforge_waits> ${MF_MPIEXEC})
  set_tests_properties(waits PROPERTIES TIMEOUT 600 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
endif()
