mf_test(NAME cmd_session SOURCE unit/cmd_session.c ROOM mf_cmd RANKS 1 2 3)
