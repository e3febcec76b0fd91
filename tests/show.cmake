mf_test(NAME show_figure SOURCE unit/show_figure.c ROOM mf_show)
mf_test(NAME show_experts SOURCE unit/show_experts.c ROOM mf_show)
