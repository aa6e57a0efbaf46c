task {
  wait = wait.tick(-1),
  function(user) user:get "/" end,
}
