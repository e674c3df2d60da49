/** Sign-in with the operator token. The page does not keep it: the session is a cookie that scripts can't read. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { call } from '../api.ts'
import type { OperatorSession } from '../shapes.ts'
import { forget, notify, store } from '../store.ts'
import { words } from '../words.ts'
import { Field } from './controls/field.tsx'

export function SignIn() {
  const text = words()
  const [token, setToken] = useState('')
  const [wrong, setWrong] = useState<string>()
  const [working, setWorking] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  useEffect(() => form.current?.querySelector('input')?.focus(), [])
  const signIn = async () => {
    if (working) return
    setWorking(true)
    const reply = await call<OperatorSession>('POST', '/ops/session', { body: { token } })
    setWorking(false)
    if (reply.kind === 'ok') {
      store.operator = reply.body.operator
      store.role = reply.body.role
      store.expired = false
      store.changed()
      return
    }
    if (reply.kind === 'lost' || reply.status >= 500) setWrong(text.unreachableSignIn)
    else setWrong(reply.status === 429 ? text.tooManyTries : text.wrongToken)
    form.current?.querySelector('input')?.focus()
  }
  return (
    <section class="sign-in">
      <h1 tabIndex={-1}>{text.signIn}</h1>
      <p>{store.expired ? text.expired : text.signInNote}</p>
      <form
        ref={form}
        noValidate
        onSubmit={event => {
          event.preventDefault()
          void signIn()
        }}
      >
        <Field
          label={text.token}
          name="token"
          kind="password"
          autoComplete="current-password"
          value={token}
          onInput={value => {
            setToken(value)
            setWrong(undefined)
          }}
          wrong={wrong}
        />
        <button type="submit" class="button main" aria-disabled={working}>
          {working ? text.signingIn : text.signIn}
        </button>
      </form>
      <div class="unseen" role="alert">
        {wrong}
      </div>
    </section>
  )
}

export async function signOut(): Promise<void> {
  const reply = await call('DELETE', '/ops/session')
  if (reply.kind !== 'ok' && !(reply.kind === 'refused' && reply.status === 401))
    return notify('failed', words().signOutFailed)
  store.expired = false
  store.typing = undefined
  forget()
  store.changed()
}
