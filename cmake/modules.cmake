# Modulefiles that know where they were installed: written by cmake --install, whose --prefix may differ from ours.
# module use PREFIX/share/modulefiles && module load mesoforge
set(MF_MODULES "$ENV{LOADEDMODULES}" CACHE STRING
  "modules that the modulefile loads first, separated by ':' (those that are loaded when this is configured)")
string(REPLACE ":" ";" modules "${MF_MODULES}")
set(lua "")
set(tcl "")
foreach(module ${modules})
  string(APPEND lua "depends_on(\"${module}\")\n")
  string(APPEND tcl "if {![is-loaded ${module}]} {module load ${module}}\n")
endforeach()
foreach(kind lua tcl)
  set(needs "${${kind}}")
  set(prefix @prefix@) # left for the install
  configure_file(packaging/modulefile.${kind}.in ${PROJECT_BINARY_DIR}/modulefile.${kind}.in @ONLY)
endforeach()
install(CODE [=[
  get_filename_component(prefix "${CMAKE_INSTALL_PREFIX}" ABSOLUTE)
  set(folder "${CMAKE_INSTALL_PREFIX}/share/modulefiles/mesoforge")]=]
  CODE "set(from \"${PROJECT_BINARY_DIR}/modulefile\")
  set(version \"${PROJECT_VERSION}\")"
  CODE [=[
  configure_file("${from}.lua.in" "${from}s/${version}.lua" @ONLY)
  configure_file("${from}.tcl.in" "${from}s/${version}" @ONLY)
  file(INSTALL "${from}s/${version}.lua" "${from}s/${version}" DESTINATION "${folder}")]=]
  COMPONENT modulefile)
