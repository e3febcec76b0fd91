mf_test(NAME show_figure SOURCE unit/show_figure.c ROOM mf_show)
