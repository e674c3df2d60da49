-- released: the gate has done these.
-- In      array of order ids
-- Out     nothing
-- Keeps   deleted only after the gate said done
DELETE FROM releases WHERE order_id = ANY ($1::bigint[])
