/** The fields of one item on the sale's form. */

import { exponentOf } from '../../../../src/domain/money.ts'
import { editWords } from '../../words/edit.ts'
import { words } from '../../words.ts'
import { Field } from '../controls/field.tsx'
import type { Fixed } from './fixed-fields.ts'
import { ImageUpload } from './image-upload.tsx'
import type { TypedItem, Wrongs } from './typed-sale.ts'

interface ItemFieldsProps {
  readonly no: number
  readonly item: TypedItem
  readonly wrongs: Wrongs
  readonly fixed: Fixed
  readonly change: (more: Partial<TypedItem>) => void
  readonly remove: (() => void) | undefined
}

export function ItemFields({ no, item, wrongs, fixed, change, remove }: ItemFieldsProps) {
  const text = words()
  const field = (name: Exclude<keyof TypedItem, 'key' | 'id'>, label: string) => ({
    label,
    name: `items.${no - 1}.${name}`,
    value: item[name],
    onInput: (value: string) => change({ [name]: value }),
    wrong: wrongs[`items.${no - 1}.${name}`],
    fixed: fixed(`items.${no - 1}.${name}`),
  })
  // The buyer page's Content-Security-Policy allows pictures from its own site and over https only.
  const insecure = /^http:/i.test(item.image.trim()) && !item.image.trim().startsWith(`${location.origin}/`)
  const currency = item.currency.trim()
  const digits = exponentOf(currency)
  const priceFixed = fixed(`items.${no - 1}.price`)
  const isPublished = priceFixed !== undefined
  return (
    <fieldset class="card">
      <legend>{text.item(`${no}`)}</legend>
      <div class="fields">
        <Field wide {...field('name', text.itemName)} />
        <Field optional {...field('nameZh', text.nameZh)} />
        <Field optional {...field('nameEn', text.nameEn)} />
        <Field numeric {...field('units', text.unitsOnSale)} />
        <Field
          numeric
          {...field('price', text.price)}
          hint={priceFixed ?? (digits === 2 ? undefined : text.decimals(currency, `${digits}`))}
        />
        <Field {...field('currency', text.currency)} />
        <Field numeric optional {...field('listPrice', text.listPrice)} />
        <Field numeric {...field('quantityMax', text.quantityMax)} />
        <Field numeric {...field('attemptsMax', text.attemptsMax)} />
        <Field
          numeric
          {...field('payWithinSeconds', text.payWithin)}
          hint={isPublished ? editWords().laterOrders : undefined}
        />
        <Field optional {...field('sku', text.sku)} />
        <Field
          wide
          optional
          kind="url"
          {...field('image', text.image)}
          hint={insecure ? text.imageInsecure : undefined}
        />
        <ImageUpload onImage={image => change({ image })} />
        <Field wide optional rows={4} {...field('description', text.description)} hint={text.descriptionHint} />
      </div>
      {remove !== undefined && (
        <p class="ways">
          <button type="button" class="button" onClick={remove}>
            {text.removeItem(`${no}`)}
          </button>
        </p>
      )}
    </fieldset>
  )
}
