-- fill_parcels: what came with orders: contact and metadata.
-- In      per order, once: order id, item, buyer, metadata or null, contact or null (JSON) (arrays)
-- Out     order_id of each row that was written
-- Keeps   what is there stays: the same call late, or again with another contact, changes nothing. Nothing is written for an order that was refused, or is
--         another buyer's (an erased buyer has another name). An order that is not in the ledger yet is looked for a minute later
INSERT INTO parcels (order_id, item, metadata, contact, look_at)
SELECT n.order_id, n.item, n.metadata::jsonb, n.contact::jsonb, CASE WHEN o.id IS NULL THEN clock_timestamp() + interval '1 minute' END
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[]) AS n (order_id, item, buyer, metadata, contact)
LEFT JOIN LATERAL (SELECT a.id, a.buyer, a.reason FROM all_orders a WHERE a.id = n.order_id AND a.item = n.item) o ON true
WHERE o.id IS NULL OR (o.buyer = n.buyer AND o.reason IS DISTINCT FROM 'refused')
ON CONFLICT (order_id) DO UPDATE
SET metadata = coalesce(parcels.metadata, excluded.metadata), contact = coalesce(parcels.contact, excluded.contact)
WHERE (parcels.metadata IS NULL AND excluded.metadata IS NOT NULL) OR (parcels.contact IS NULL AND excluded.contact IS NOT NULL)
RETURNING order_id
