mf_test(NAME place_parts SOURCE unit/place_parts.c ROOM mf_place)
