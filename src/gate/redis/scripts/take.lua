-- take: the oldest entries of an item's outbox, for the one worker that has the lease.
-- KEYS     worker (the lease), outboxes, gate (only its name is used)
-- ARGV     worker, leaseMs, asksMax
-- Returns  OK, 1 if more may wait behind these, epoch, then id and fields of each entry (no epoch: nothing waits); or HELD
-- Keeps    one worker at a time, as long as a lease lasts: one that has longer to go was written by a clock that went back since;
--          it is renewed when half of it is over, not with every take: each write waits for the disk;
--          entries stay until done; asks neither epoch nor server: what was acknowledged here must reach the ledger (E5)

if #KEYS ~= 3 or #ARGV ~= 3 or ARGV[1] == '' or not (isNumber(ARGV[2]) and isNumber(ARGV[3])) then
  return bug('take: wrong arguments')
end
return takeEntries(KEYS[1], KEYS[2], KEYS[3], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), function() return '-' end)
