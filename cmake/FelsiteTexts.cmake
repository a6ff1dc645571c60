# felsite_texts(TARGET HEADER NAMESPACE FILE...): the target may include HEADER, which has the text of
# each file as a string_view with the file's name, without its extension.
function(felsite_texts target header namespace)
  list(JOIN ARGN "," files)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/generated)
  set(script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/embed_text.cmake)
  add_custom_command(
    OUTPUT ${folder}/${header}
    COMMAND ${CMAKE_COMMAND} -DFILES=${files} -DNAMESPACE=${namespace} -DHEADER=${folder}/${header} -P
            ${script}
    DEPENDS ${ARGN} ${script}
    VERBATIM)
  target_sources(${target} PRIVATE ${folder}/${header})
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
