mf_test(NAME place_parts SOURCE unit/place_parts.c ROOM mf_place)
mf_test(NAME place_spread SOURCE unit/place_spread.c ROOM mf_place)
mf_test(NAME place_map SOURCE unit/place_map.c ROOM mf_place ARGS ${PROJECT_SOURCE_DIR}/examples/hardware)
