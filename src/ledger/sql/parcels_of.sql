-- parcels_of: contact and metadata of orders.
-- In      order ids
-- Out     order_id, metadata, contact; no row for an order without either
-- Keeps   a plain read by key
SELECT order_id, metadata, contact FROM parcels WHERE order_id = ANY ($1::bigint[])
