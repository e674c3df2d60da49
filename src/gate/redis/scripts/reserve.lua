-- reserve: decide a batch of asks for one item, in arrival order.
-- KEYS     gate, buyers, orders, outbox (of this epoch), outboxes
-- ARGV     epoch, item, clockOffsetMs, outboxMax, channel, sameWrites, asks (a JSON list of texts: order, buyer, attempt, quantity of each),
--          traces (optional: of asks that are traced; written into the entry as it is)
-- Returns  status, epoch, version, left, nowMs, one code per ask, then order, quantity, reservedAtMs of each existing one; or STALE, seen; or BUSY
-- Keeps    left ≥ 0; one live reservation per buyer; one reservation per id; every unit taken is in the outbox entry of this very call;
--          only on the server the epoch was activated on (E1); with sameWrites a `same` is a write that WAIT can cover (E11);
--          a refusal for want of units is noted in one of several shards, without a new version

local gateKey, buyersKey, ordersKey, outboxKey, outboxesKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local readable, asks = pcall(cjson.decode, ARGV[7])
if #KEYS ~= 5 or #ARGV < 7 or #ARGV > 8 or not (isCount(ARGV[1]) and isWhole(ARGV[3]) and isCount(ARGV[4]) and readable and type(asks) == 'table')
  or #asks % 4 ~= 0 then
  return bug('reserve: wrong arguments')
end
local epoch, item, offset, outboxMax = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local channel, sameWrites, count = ARGV[5], ARGV[6] == '1', #asks / 4

-- Globals are slow, so they are read once: this is the one script that is run for every click.
local type, tonumber = type, tonumber
local orders, buyers = {}, {}
for i = 1, count do
  local at = 4 * i - 3
  local order, buyer, attempt, quantity = asks[at], asks[at + 1], asks[at + 2], asks[at + 3]
  local texts = type(order) == 'string' and type(buyer) == 'string' and type(attempt) == 'string' and type(quantity) == 'string'
  if not (texts and isId(order) and isBuyer(buyer) and isNumber(attempt) and isNumber(quantity)) then
    return bug('reserve: ask ' .. i .. ' is malformed')
  end
  orders[i], buyers[i] = order, buyer
end

local gate = readGate(gateKey)
if not selling(gate, epoch) then return { STALE, gate.seen } end

local now = nowMs(offset, gate.clock)
local status = OK
if gate.state == 'paused' then status = PAUSED end
if now < gate.opens then status = EARLY end
if gate.state == 'over' or now >= gate.closes then status = OVER end

local packed = callInSlices('HMGET', buyersKey, buyers, 1)
local members = status == OK and callInSlices('SMISMEMBER', ordersKey, orders, 1) or {}

local left, taken, sames, missed = gate.left, 0, 0, nil
local codes, replies = {}, {}
-- What this batch has done so far, on top of what was read. A buyer gets at most one reservation per batch: it is live afterwards.
local book, known = {}, {}
local newOrders, newBuyers, newBook, queued = {}, {}, {}, {}
local tail = ',1,' .. text(now) .. ';'
for i = 1, count do
  local order, buyer, attempt, quantity = orders[i], buyers[i], asks[4 * i - 1], asks[4 * i]
  local mine = book[buyer] or packed[i]
  local found = mine and existing(unpackAttempts(mine), attempt)
  if found then
    codes[i] = found.live and 's' or 'c'
    replies[#replies + 1] = found.order
    replies[#replies + 1] = found.quantity
    replies[#replies + 1] = found.at
    if found.live then sames = sames + 1 end
  elseif status ~= OK then
    codes[i] = 'x'
  elseif tonumber(attempt) > gate.attemptsMax then
    codes[i] = 'a'
  elseif tonumber(quantity) > left then
    codes[i] = 'n'
    missed = math.min(missed or SAFE_MAX, tonumber(quantity))
  elseif known[order] or members[i] == 1 then
    codes[i] = 'f'
  else
    codes[i] = 'r'
    left = left - tonumber(quantity)
    taken = taken + tonumber(quantity)
    known[order] = true
    mine = (mine or '') .. attempt .. ',' .. order .. ',' .. quantity .. tail
    book[buyer] = mine
    local nth = #newOrders + 1
    newOrders[nth], newBuyers[nth] = order, buyer
    newBook[2 * nth - 1], newBook[2 * nth] = buyer, mine
    queued[4 * nth - 3], queued[4 * nth - 2], queued[4 * nth - 1], queued[4 * nth] = order, buyer, attempt, quantity
  end
end

local version = gate.version
if taken > 0 then
  if redis.call('XLEN', outboxKey) >= outboxMax then return { BUSY } end
  version = version + 1
  redis.call('HSET', gateKey, 'left', text(left), 'held', text(gate.held + taken), 'version', text(version),
    'clock', text(now), 'judged', tostring(status))
  callInSlices('HSET', buyersKey, newBook, 2)
  callInSlices('SADD', ordersKey, newOrders, 1)
  -- Readers take these four by their position. A field may be added behind them, one version after all readers tolerate it.
  local written = #newOrders == count and ARGV[7] or cjson.encode(queued)
  if ARGV[8] then
    redis.call('XADD', outboxKey, '*', 'at', text(now), 'count', tostring(#newOrders), 'pieces', text(taken), 'asks', written,
      'traces', ARGV[8])
  else
    redis.call('XADD', outboxKey, '*', 'at', text(now), 'count', tostring(#newOrders), 'pieces', text(taken), 'asks', written)
  end
  redis.call('HINCRBY', outboxesKey, text(epoch), text(taken))
  redis.call('PUBLISH', channel, '{"kind":"reserved","item":' .. cjson.encode(item) .. ',"epoch":' .. text(epoch)
    .. ',"version":' .. text(version) .. ',"left":' .. text(left) .. ',"buyers":' .. cjson.encode(newBuyers) .. '}')
elseif gate.judged ~= tostring(status) or now < (gate.clock or 0) or (sameWrites and sames > 0) then
  -- What the window was once judged to be stays so when the server's clock steps back. A clock that was wrong and is right is written down
  -- as it is now, or the wrong one would count again when the right one comes near it.
  redis.call('HSET', gateKey, 'clock', text(now), 'judged', tostring(status))
end

-- In one of several shards the refusal is noted for `move-units.ts`. The smallest wish counts: there may be enough for it. A larger one does
-- not keep it alive, and takes over when it is not asked for any more. A crowd before an empty shard writes ten times a second, not with every batch.
if missed and isShard(gateKey) then
  local note = redis.call('HMGET', gateKey, 'waited', 'wants')
  local waited, wants = tonumber(note[1] or 0), tonumber(note[2] or 0)
  -- Too old, or written by a clock that was ahead.
  local over = now - waited > WANTED_MS or waited - now > STEP_BACK_MS_MAX
  if over or missed < wants or (missed == wants and now - waited >= 100) then
    redis.call('HSET', gateKey, 'waited', text(now), 'wants', text(missed))
  end
end

return { status, epoch, version, left, now, table.concat(codes), unpack(replies) }
