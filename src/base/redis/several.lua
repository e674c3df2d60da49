-- several: many calls of one script, which stands before this as the function `one`, in one call: the same answers in the same order.
-- KEYS     those of each call, one call after the other
-- ARGV     per call: how many keys and how many arguments it has, then its arguments
-- Returns  the answer of each call; one that found a bug of its caller answers an error in its place
-- Keeps    what the script keeps, call by call: each is decided before the next is looked at

local answers, key, at = {}, 0, 1
while at <= #ARGV do
  local keys, arguments, count = {}, {}, tonumber(ARGV[at + 1])
  for i = 1, tonumber(ARGV[at]) do keys[i] = KEYS[key + i] end
  for i = 1, count do arguments[i] = ARGV[at + 1 + i] end
  key = key + #keys
  at = at + 2 + count
  answers[#answers + 1] = one(keys, arguments)
end
return answers
