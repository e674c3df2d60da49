-- holdings: one page of the active epoch's book.
-- KEYS     gate, buyers (of this epoch)
-- ARGV     epoch, cursor, how many buyers about
-- Returns  OK, next cursor, then buyer, packed attempts for each; or STALE
-- Keeps    nothing under another epoch or from another server (E1); a buyer may come twice

if #KEYS ~= 2 or #ARGV ~= 3 or not (isCount(ARGV[1]) and ARGV[2]:match('^%d+$') and isNumber(ARGV[3])) then
  return bug('holdings: wrong arguments')
end
if not selling(readGate(KEYS[1]), tonumber(ARGV[1])) then return { STALE } end
local page = redis.call('HSCAN', KEYS[2], ARGV[2], 'COUNT', ARGV[3])
return { OK, page[1], page[2] }
