# Tests of descriptor files and pictures.
mf_test(NAME io_target SOURCE unit/io_target.c ROOM mf_io)
mf_test(NAME io_target_file SOURCE unit/io_target_file.c ROOM mf_io RANKS 1 2 3)
find_program(MF_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(MF_PYTHON NAMES python3)
if(MF_PYTHON)
  add_test(NAME io_target_h5py COMMAND ${MF_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/io_target_file.py
    $<TARGET_FILE:io_target_file> ${CMAKE_CURRENT_BINARY_DIR}/io_target_h5py)
  set_tests_properties(io_target_h5py PROPERTIES TIMEOUT 300 SKIP_RETURN_CODE 77 LABELS unit
    ENVIRONMENT "${MF_TEST_ENV}")
endif()
mf_test(NAME io_plot SOURCE unit/io_plot.c ROOM mf_io)
target_link_libraries(io_plot PRIVATE PkgConfig::CAIRO)

# merge, interpolate, smooth, info and view of the program.
if(MF_PYTHON)
  add_test(NAME cli_view COMMAND ${MF_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/cli/view.py $<TARGET_FILE:mesoforge>
    ${MF_MPIEXEC} ${CMAKE_CURRENT_BINARY_DIR}/cli_view)
  set_tests_properties(cli_view PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS cli
    ENVIRONMENT "${MF_TEST_ENV}")
  add_test(NAME cli_smooth COMMAND ${MF_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/cli/smooth.py $<TARGET_FILE:mesoforge> ${MF_MPIEXEC})
  set_tests_properties(cli_smooth PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS cli
    ENVIRONMENT "${MF_TEST_ENV}")
  add_test(NAME mcrpy_tool COMMAND ${MF_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/cli/mcrpy_tool.py $<TARGET_FILE:mesoforge>
    ${PROJECT_SOURCE_DIR}/tools/mcrpy-to-mesoforge)
  set_tests_properties(mcrpy_tool PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
endif()
