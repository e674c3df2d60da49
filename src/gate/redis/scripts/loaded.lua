-- loaded: what the pages loaded under an epoch add up to, before it is activated.
-- KEYS     gate, buyers (of this epoch)
-- ARGV     epoch, begun (its keeper has fenced or loaded it here before)
-- Returns  OK, held, buyers; or DONE (it is active already); or STALE (it can't be activated any more)
-- Keeps    judges as activate does (E1, E9), and writes nothing

if #KEYS ~= 2 or #ARGV ~= 2 or not isNumber(ARGV[1]) then return bug('loaded: wrong arguments') end
local epoch, begun = tonumber(ARGV[1]), ARGV[2] == '1'
local gate = readGate(KEYS[1])
local server = identity()
if selling(gate, epoch, server) then return { DONE } end
if epoch < gate.seen or gate.epoch == epoch or not goesOn(gate, epoch, begun, server) then return { STALE } end
if gate.loading ~= epoch then return { OK, 0, 0 } end
return { OK, gate.loadedHeld, redis.call('HLEN', KEYS[2]) }
