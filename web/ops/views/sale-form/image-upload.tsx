/** Beside the address of an item's picture: a file from this computer, uploaded at once; the address it gets is put into the field. */

import { useId, useRef, useState } from 'preact/hooks'
import { IMAGE_BYTES_MAX, IMAGE_TYPES } from '../../../../src/domain/image.ts'
import { call } from '../../api.ts'
import { wholeWrong } from '../../refusal.ts'
import { words } from '../../words.ts'

export function ImageUpload({ onImage }: { readonly onImage: (address: string) => void }) {
  const text = words()
  const id = useId()
  const [said, setSaid] = useState('')
  const [wrong, setWrong] = useState('')
  // Other fields may have been typed into while the file was on its way.
  const latest = useRef(onImage)
  latest.current = onImage
  const asked = useRef(0)

  const send = async (file: File | undefined) => {
    asked.current += 1
    const mine = asked.current
    setSaid('')
    setWrong('')
    if (file === undefined) return
    if (file.size > IMAGE_BYTES_MAX) return setWrong(text.imageTooLarge)
    setSaid(text.imageUploading)
    const reply = await call<{ readonly image: string }>('POST', '/api/admin/images', { file })
    // Another file was chosen meanwhile.
    if (mine !== asked.current) return
    setSaid(reply.kind === 'ok' ? text.imageUploaded : '')
    if (reply.kind === 'ok') return latest.current(reply.body.image)
    if (reply.kind === 'lost') return setWrong(text.imageLost)
    setWrong(reply.code === 'body_invalid' ? text.imageKinds : wholeWrong(reply))
  }

  return (
    <div class="field wide">
      <label for={id}>{text.imageUpload}</label>
      <input
        id={id}
        type="file"
        accept={Object.values(IMAGE_TYPES).join(',')}
        aria-describedby={wrong === '' ? `${id}-hint` : `${id}-wrong ${id}-hint`}
        aria-invalid={wrong !== ''}
        onChange={event => void send(event.currentTarget.files?.[0])}
      />
      {wrong !== '' && (
        <p class="refused" id={`${id}-wrong`} role="alert">
          {wrong}
        </p>
      )}
      <p class="hint" id={`${id}-hint`} role="status">
        {said || text.imageKinds}
      </p>
    </div>
  )
}
