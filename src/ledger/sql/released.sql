-- released: the gate has done these.
-- In      array of order ids
-- Out     the ids of those that were still there: two may have told the gate, and one of them counts it
-- Keeps   deleted only after the gate said done
DELETE FROM releases WHERE order_id = ANY ($1::bigint[]) RETURNING order_id
