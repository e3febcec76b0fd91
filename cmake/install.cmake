# What `cmake --install` puts where: the program, its manual pages, documents, examples, job scripts, tools.
# Debian has a folder for the libraries of each architecture, also where no prefix says that it is Debian's own.
if(CMAKE_INSTALL_PREFIX_INITIALIZED_TO_DEFAULT AND CMAKE_LIBRARY_ARCHITECTURE AND EXISTS /etc/debian_version)
  set(CMAKE_INSTALL_LIBDIR lib/${CMAKE_LIBRARY_ARCHITECTURE} CACHE PATH "libraries")
endif()
include(GNUInstallDirs)

add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/man/mesoforge.1
  COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:mesoforge> -DOUT=${PROJECT_BINARY_DIR}/man
    -P ${PROJECT_SOURCE_DIR}/cmake/man.cmake
  DEPENDS mesoforge ${PROJECT_SOURCE_DIR}/cmake/man.cmake
  COMMENT "Writing manual pages" VERBATIM)
add_custom_target(man ALL DEPENDS ${PROJECT_BINARY_DIR}/man/mesoforge.1)

# All that is installed, and no test.
add_custom_target(program DEPENDS mesoforge libmesoforge man)
if(TARGET libmesoforge_static)
  add_dependencies(program libmesoforge_static)
  install(FILES ${PROJECT_BINARY_DIR}/libmesoforge.a DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
endif()
if(TARGET mesoforge_cuda)
  add_dependencies(program mesoforge_cuda)
endif()

install(TARGETS mesoforge RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS libmesoforge EXPORT mesoforge LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
  NAMELINK_COMPONENT development INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES include/mesoforge.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(DIRECTORY python/mesoforge DESTINATION lib/python3/dist-packages COMPONENT python FILES_MATCHING PATTERN "*.py" PATTERN py.typed
  PATTERN __pycache__ EXCLUDE)
# find_package(mesoforge) gives mesoforge::mesoforge.
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/mesoforge-config-version.cmake COMPATIBILITY SameMinorVersion)
install(EXPORT mesoforge NAMESPACE mesoforge:: FILE mesoforge-config.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mesoforge
  COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/mesoforge-config-version.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/mesoforge
  COMPONENT development)
install(DIRECTORY ${PROJECT_BINARY_DIR}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 FILES_MATCHING PATTERN "*.1")
# What libmesoforge.a needs.
set(MF_LIBS_PRIVATE)
foreach(library FFTW YAML JANSSON PCRE2 UTF8PROC MICROHTTPD CAIRO CRYPTO)
  list(APPEND MF_LIBS_PRIVATE ${${library}_LDFLAGS})
endforeach()
list(APPEND MF_LIBS_PRIVATE ${MF_DNNL_LIBRARY} ${HDF5_C_LIBRARIES} ${MPI_C_LIBRARIES} ${PNG_LIBRARIES} ${TIFF_LIBRARIES} ${ZLIB_LIBRARIES}
  ${OpenMP_C_FLAGS} -lpthread -ldl -lm)
list(REMOVE_DUPLICATES MF_LIBS_PRIVATE)
list(JOIN MF_LIBS_PRIVATE " " MF_LIBS_PRIVATE)
configure_file(packaging/mesoforge.pc.in ${PROJECT_BINARY_DIR}/mesoforge.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/mesoforge.pc DESTINATION share/pkgconfig COMPONENT development)
install(FILES README.md LICENSE CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs OPTIONAL)
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples PATTERN library EXCLUDE)
install(DIRECTORY examples/library DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples COMPONENT development)
install(PROGRAMS tools/mcrpy-to-mesoforge tools/vgg-to-safetensors DESTINATION ${CMAKE_INSTALL_DOCDIR}/tools)
install(DIRECTORY slurm/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/slurm FILES_MATCHING PATTERN "*.sbatch" PATTERN README)
install(FILES tools/pytorch/mesoforge_torch.py tools/pytorch/mesoforge_unet.py DESTINATION ${CMAKE_INSTALL_DATADIR}/mesoforge/pytorch)
