# Tests of io/.
include(${CMAKE_CURRENT_LIST_DIR}/io_target.cmake)
mf_test(NAME io_npy SOURCE unit/io_npy.c ROOM mf_io RANKS 1 2 3)
mf_test(NAME io_image SOURCE unit/io_image.c ROOM mf_io ARGS ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/io)
mf_test(NAME io_tiff SOURCE unit/io_tiff.c ROOM mf_io)
target_link_libraries(io_tiff PRIVATE TIFF::TIFF)
mf_test(NAME io_hash SOURCE unit/io_hash.c ROOM mf_io)
target_link_options(io_hash PRIVATE LINKER:--wrap=mf_comm_alive)
mf_test(NAME io_safetensors SOURCE unit/io_safetensors.c ROOM mf_io)
mf_test(NAME io_dataset SOURCE unit/io_dataset.c ROOM mf_io RANKS 1 2 3)
mf_test(NAME io_dataset_hostile SOURCE unit/io_dataset.c ROOM mf_io LABEL cli ARGS hostile)
mf_test(NAME io_questions SOURCE unit/io_questions.c ROOM mf_io RANKS 1 2 3)
mf_test(NAME io_writer SOURCE unit/io_writer.c ROOM mf_io RANKS 1 2 3)
mf_test(NAME io_same_file SOURCE unit/io_same_file.c ROOM mf_io RANKS 1 2 3 4)
mf_test(NAME io_seal SOURCE unit/io_seal.c ROOM mf_io RANKS 1 2 3)
mf_test(NAME io_micro SOURCE unit/io_micro.c ROOM mf_io RANKS 1 2 3 4)

# One refusal at one place on one rank: format, places, each with the code that all ranks must get. What is left behind is seen with
# sanitizers.
mf_in(in checked)
add_executable(io_fault unit/io_fault.c)
target_link_libraries(io_fault PRIVATE mf_io)
foreach(format h5 npy tif)
  set(faults io.create:rank=0 7 io.rename:rank=0 7 io.open:rank=2 3 io.read:rank=1 3 memory:rank=2 5)
  if(format STREQUAL h5)
    list(APPEND faults io.write:rank=0 7 io.write:rank=2 7)
  elseif(format STREQUAL npy)
    list(APPEND faults io.write:rank=1 7)
  endif()
  add_test(NAME io_fault_${format} COMMAND ${MF_MPIEXEC} -n 3 $<TARGET_FILE:io_fault> .${format} ${faults} ${in})
  set_tests_properties(io_fault_${format} PROPERTIES TIMEOUT 300 LABELS unit ENVIRONMENT "${MF_TEST_ENV}")
endforeach()
set(MF_IO_FIXTURES ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/io)
set(mutations 240) # of a file
if(MF_SANITIZE)
  set(mutations 80)
endif()
math(EXPR fewer "${mutations} / 3")
mf_test(NAME io_fuzz SOURCE unit/io_fuzz.c ROOM mf_io IN checked ARGS ${mutations} ${MF_IO_FIXTURES}/labels.npy
  ${MF_IO_FIXTURES}/grey.npy ${MF_IO_FIXTURES}/grey8.png ${MF_IO_FIXTURES}/interlaced.png ${MF_IO_FIXTURES}/stack8.tif
  ${MF_IO_FIXTURES}/tiles.tif ${MF_IO_FIXTURES}/lzw.tif ${MF_IO_FIXTURES}/volume.h5 ${MF_IO_FIXTURES}/blocks.vti
  ${MF_IO_FIXTURES}/text.vti ${MF_IO_FIXTURES}/raw.vti ${MF_IO_FIXTURES}/packed.nrrd)
target_link_libraries(io_fuzz PRIVATE TIFF::TIFF)
mf_test(NAME io_fuzz_written SOURCE unit/io_fuzz.c ROOM mf_io IN checked ARGS ${fewer} kinds .vtr .nrrd .nhdr .dream3d .h5 safetensors safetensors.index.json
  .behind.tif .colours.tif .palette.tif)
target_link_libraries(io_fuzz_written PRIVATE TIFF::TIFF)
mf_test(NAME io_foreign SOURCE unit/io_foreign.c ROOM mf_io IN checked ARGS ${MF_IO_FIXTURES})
mf_test(NAME io_data SOURCE unit/io_data.c ROOM mf_io ARGS ${PROJECT_SOURCE_DIR}/../shared/data/mcrpy)

# Written by two ranks, read by three; looked at by others; a full disk.
add_executable(io_round unit/io_round.c)
target_link_libraries(io_round PRIVATE mf_io)
foreach(format h5 vtkhdf npy tif)
  add_test(NAME io_round_write_${format} COMMAND ${MF_MPIEXEC} -n 2 $<TARGET_FILE:io_round> write
    ${CMAKE_CURRENT_BINARY_DIR}/round.${format})
  add_test(NAME io_round_check_${format} COMMAND ${MF_MPIEXEC} -n 3 $<TARGET_FILE:io_round> check
    ${CMAKE_CURRENT_BINARY_DIR}/round.${format})
  set_tests_properties(io_round_write_${format} PROPERTIES FIXTURES_SETUP round_${format})
  set_tests_properties(io_round_check_${format} PROPERTIES FIXTURES_REQUIRED round_${format})
  list(APPEND rounds io_round_write_${format} io_round_check_${format})
endforeach()
foreach(case h5:3 npy:3 dream3d:3 tif:1)
  string(REPLACE ":" ";" case ${case})
  list(GET case 0 format)
  list(GET case 1 ranks)
  add_test(NAME io_cut_${format} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/io_cut.sh ${MF_MPIEXEC} $<TARGET_FILE:io_round>
    ${ranks} ${format} ${in})
  list(APPEND rounds io_cut_${format})
endforeach()
foreach(ranks 1 2)
  add_test(NAME io_full_${ranks} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/io_full.sh ${MF_MPIEXEC} $<TARGET_FILE:io_round>
    ${ranks} ${in})
  list(APPEND rounds io_full_${ranks})
endforeach()
find_program(MF_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
if(MF_PYTHON)
  add_test(NAME io_python COMMAND ${MF_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/io_python.py ${MF_MPIEXEC}
    $<TARGET_FILE:io_round> ${CMAKE_CURRENT_BINARY_DIR}/io_python)
  list(APPEND rounds io_python)
endif()
set_tests_properties(${rounds} PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS unit
  ENVIRONMENT "${MF_TEST_ENV}")

mf_test(NAME io_provenance SOURCE unit/io_provenance.c ROOM mf_io RANKS 1 2 3 4)
