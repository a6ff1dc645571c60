# Has the tool write its manual page and its completions into the folder PAGES.
file(MAKE_DIRECTORY ${PAGES})
function(page file)
  execute_process(COMMAND ${TOOL} ${ARGN} OUTPUT_FILE ${PAGES}/${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
page(felsite.1 man)
page(felsite completion bash)
page(_felsite completion zsh)
page(felsite.fish completion fish)
