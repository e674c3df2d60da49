-- hold: counts a hold of a sale if every subject has room.
-- KEYS     used (hash: subject → units), holds (hash: id → units|subject|…), ends (sorted set: id → ms), read (there: the ledger was read)
-- ARGV     now (0: the server's clock), id, units, for how many ms, then subject and most units of each
-- Returns  TAKEN 0, UNREAD -1, or the place from 1 on of the subject that has no room
-- Keeps    used is the sum over holds; a hold is counted once, with the most units it was asked for with; one whose time is over counts no more, a hundred of them in a call

local ENDED_MAX = 100
local given, id, units, forMs = whole(ARGV[1], 0, 1e14), holdName(ARGV[2]), whole(ARGV[3], 1, 1e9), whole(ARGV[4], 1, 1e12)
if #KEYS ~= 4 or not given or not id or not units or not forMs or #ARGV % 2 ~= 0 or #ARGV > 20 then return bug('hold: wrong arguments') end
local subjects, maxima = {}, {}
for at = 5, #ARGV, 2 do
  local subject, max = holdName(ARGV[at]), whole(ARGV[at + 1], 0, 1e9)
  if not subject or not max then return bug('hold: wrong arguments') end
  subjects[#subjects + 1], maxima[#maxima + 1] = subject, max
end
if redis.call('EXISTS', KEYS[4]) == 0 then return -1 end
local now = given ~= 0 and given or serverMs()
for _, ended in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', text(now), 'LIMIT', 0, ENDED_MAX)) do dropHold(KEYS, ended) end
local counted, own = redis.call('HGET', KEYS[2], id), {}
if counted then
  local before = tonumber(counted:match('^%d+'))
  if before >= units then return 0 end
  for subject in counted:gmatch('|([^|]+)') do own[subject] = before end
end
for i, subject in ipairs(subjects) do
  if tonumber(redis.call('HGET', KEYS[1], subject) or 0) - (own[subject] or 0) + units > maxima[i] then return i end
end
if counted then
  forMs = math.max(forMs, tonumber(redis.call('ZSCORE', KEYS[3], id)) - now)
  dropHold(KEYS, id)
end
addHold(KEYS, id, units, now, forMs, subjects)
return 0
