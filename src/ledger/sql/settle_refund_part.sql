-- settle_refund_part: the provider has confirmed a part of a refund.
-- In      part
-- Out     one row if it was due
-- Keeps   due → refunded by compare-and-set, once
UPDATE refund_parts SET state = 'refunded', refunded_at = clock_timestamp() WHERE id = $1 AND state = 'due' RETURNING id
