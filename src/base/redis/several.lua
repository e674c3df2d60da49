-- several: many calls of one script, which stands before this as the function `one`, in one call: the same answers in the same order.
-- KEYS     those of each call, one call after the other
-- ARGV     per call: how many keys and how many arguments it has, then its arguments
-- Returns  the answer of each call; one that fails, or finds a bug of its caller, answers an error in its place
-- Keeps    what the script keeps, call by call: each is decided before the next is looked at, and one that stops halfway (a key was overwritten from
--          outside) stops no other

local answers, calls, key, at = {}, 0, 0, 1
while at <= #ARGV do
  local keys, arguments, count = {}, {}, tonumber(ARGV[at + 1])
  for i = 1, tonumber(ARGV[at]) do keys[i] = KEYS[key + i] end
  for i = 1, count do arguments[i] = ARGV[at + 1 + i] end
  key = key + #keys
  at = at + 2 + count
  local ended, answer = pcall(one, keys, arguments)
  if not ended then answer = redis.error_reply('ERR ' .. (type(answer) == 'table' and answer.err or tostring(answer)) .. ' @user_script') end
  -- Counted, and never nil: each answer stays in the place of its call.
  calls = calls + 1
  answers[calls] = answer == nil and false or answer
end
return answers
