-- released: deletes the release rows that the gate has done.
-- In      array of order ids
-- Out     the ids whose row was deleted by this call: two processes may have released at the gate, and one of them counts it
-- Keeps   E8: called only after the gate answered done
DELETE FROM releases WHERE order_id = ANY ($1::bigint[]) RETURNING order_id
