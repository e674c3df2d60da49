-- erase_buyer: takes a buyer's id out of every row of settled sales, deletes contact and metadata of those orders, and writes a line into the log that does
--              not name the buyer.
-- In      buyer, by
-- Out     one row: orders, archived (orders in the archive), letters (dead letters), reports: how many rows had it; remaining: orders that keep it,
--         because their sale is not settled or money or units of them still move
-- Keeps   decided under lock_items; quantities, states and money stay, so the books add up as before; the name instead is made of the order's id,
--         and leads back to no buyer; again changes nothing
WITH settled AS MATERIALIZED (
  SELECT i.id, i.sale FROM items i
  WHERE (i.door = 'shut' OR (i.home_door = 'ledger' AND i.door = 'ledger'))
    AND EXISTS (SELECT 1 FROM reconciliations r WHERE r.sale = i.sale AND r.final)
),
hot AS (
  UPDATE orders o SET buyer = 'erased:' || o.id FROM settled s
  WHERE s.id = o.item AND o.buyer = $1 AND o.state <> 'pending'
    AND NOT EXISTS (SELECT 1 FROM releases l WHERE l.order_id = o.id)
    AND NOT EXISTS (SELECT 1 FROM payments p WHERE p.order_id = o.id AND p.state IN ('started', 'refund_due'))
    AND NOT EXISTS (SELECT 1 FROM refund_parts r WHERE r.order_id = o.id AND r.state = 'due')
  RETURNING o.id
),
old AS (UPDATE orders_archive o SET buyer = 'erased:' || o.id WHERE o.buyer = $1 RETURNING o.id),
-- An address to pay at, or a code to scan, may hold what the provider knows of the buyer. Such a payment is over.
pages AS (UPDATE payments p SET pay_url = NULL, qr = NULL FROM hot h WHERE p.order_id = h.id AND COALESCE(p.pay_url, p.qr) IS NOT NULL),
old_pages AS (UPDATE payments_archive p SET pay_url = NULL, qr = NULL FROM old o WHERE p.order_id = o.id AND COALESCE(p.pay_url, p.qr) IS NOT NULL),
-- The contact, and what the shop's page has written beside it, may name the buyer, too.
parcels_gone AS (
  DELETE FROM parcels p USING (SELECT id FROM hot UNION ALL SELECT id FROM old) e WHERE p.order_id = e.id),
-- Their proofs stay: a record of a draw can be checked as before.
joins AS (
  UPDATE line_joins j SET buyer = 'erased:' || j.number FROM (SELECT DISTINCT sale FROM settled) s WHERE j.sale = s.sale AND j.buyer = $1
  RETURNING j.sale),
claims AS (UPDATE line_claims c SET buyer = 'erased' FROM joins j WHERE c.sale = j.sale AND c.buyer = $1),
-- The id stands in quotes; in an entry that could not be parsed it is JSON in JSON, and the quotes are escaped.
quoted AS (
  SELECT once, substr(twice, 2, length(twice) - 2) AS twice
  FROM (SELECT to_json($1::text)::text AS once) a, LATERAL (SELECT to_json(once)::text AS twice) b
),
letters AS (
  DELETE FROM dead_letters d USING settled s, quoted q
  WHERE s.id = d.item AND (strpos(d.raw, q.once) > 0 OR strpos(d.raw, q.twice) > 0)
  RETURNING d.id
),
reports AS (
  UPDATE reconciliations r SET differences = (
    SELECT jsonb_agg(
      CASE WHEN starts_with(d ->> 'message', 'buyer ' || $1 || ' has ')
        THEN jsonb_set(d, '{message}', to_jsonb('buyer erased' || substr(d ->> 'message', length('buyer ' || $1) + 1)))
        ELSE d END
      ORDER BY no)
    FROM jsonb_array_elements(r.differences) WITH ORDINALITY AS one (d, no))
  WHERE EXISTS (SELECT 1 FROM jsonb_array_elements(r.differences) AS one (d) WHERE starts_with(d ->> 'message', 'buyer ' || $1 || ' has '))
    AND NOT EXISTS (SELECT 1 FROM items i WHERE i.sale = r.sale AND i.id NOT IN (SELECT id FROM settled))
  RETURNING r.id
),
counted AS (
  SELECT (SELECT count(*) FROM hot)::int AS orders, (SELECT count(*) FROM old)::int AS archived, (SELECT count(*) FROM letters)::int AS letters,
         (SELECT count(*) FROM reports)::int AS reports
),
logged AS (
  INSERT INTO audit_log (by, action, details)
  SELECT $2, 'buyer.erase', to_jsonb(counted) FROM counted WHERE orders + archived + letters + reports > 0)
-- Two questions: a buyer's orders that are not pending have an index, and few are pending.
SELECT orders, archived, letters, reports,
       ((SELECT count(*) FROM orders o WHERE o.buyer = $1 AND o.state <> 'pending')
         + (SELECT count(*) FROM orders o WHERE o.buyer = $1 AND o.state = 'pending'))::int - orders AS remaining
FROM counted
