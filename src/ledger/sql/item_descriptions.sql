-- item_descriptions: the descriptions of the items of some sales.
-- In      array of sale ids
-- Out     item, description
SELECT item, description FROM item_descriptions WHERE sale = ANY ($1::bigint[])
