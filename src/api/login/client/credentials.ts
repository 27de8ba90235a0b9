// What opens the user's wallets: the list, a recovery code, passkeys, and a new PIN. Each change takes a credential in
// the same request, which this page does not keep.

import type { Passkey } from '../../../identity/users/passkey-schema.ts'
import type { UserSecretItem } from '../../../signing/wallets/schema.ts'
import { type Credential, onCredential } from './credential.ts'
import { callAsUser, currentLogin, type Page, requireFreshLogin, whileLoggedIn } from './page.ts'
import { addPasskey, knowsPasskeys, ownPasskeySecret } from './passkeys.ts'
import { forgetCode, offerCode, showCode } from './recovery-code.ts'
import {
  dayOf,
  element,
  input,
  listItem,
  onPress,
  setText,
  show,
  showProblem,
  showStatus,
  toggle,
  typedCode,
} from './views.ts'
import { isRefusal, UserMessage } from './wire.ts'

type OfWallet = { readonly network: string; readonly address: string }

/** One of the user's wallets with a PIN. A change holds for all of them. */
let wallet: OfWallet = { network: '', address: '' }

const readSecrets = (page: Page): Promise<readonly UserSecretItem[]> =>
  callAsUser(page, `/wallets/user-secrets?${new URLSearchParams(wallet)}`, { method: 'GET' })

const codeIn = (secrets: readonly UserSecretItem[]): UserSecretItem | null =>
  secrets.find(({ kind }) => kind === 'recovery_code') ?? null

/** What the view `prove` asks a credential for. */
type Change = {
  readonly title: string
  readonly text: string
  readonly go: string
  readonly task: (credential: Credential) => Promise<void>
}

let change: Change | null = null
let startWithPin = (): void => {}

const ask = (asked: Change): void => {
  change = asked
  setText('prove-title', asked.title)
  setText('prove-text', asked.text)
  setText('prove-go', asked.go)
  startWithPin()
  show('prove')
}

const itemOf = (page: Page, secret: UserSecretItem): HTMLLIElement => {
  const made = dayOf(secret.created_at)
  const name = secret.kind === 'passkey' ? 'passkey' : 'recovery code'
  const text = secret.kind === 'passkey' ? `A passkey, since ${made}` : `Recovery code, made ${made}`
  const task = () => askToRemove(page, secret, name)
  return listItem(text, { text: 'Remove', label: `Remove the ${name} of ${made}`, task })
}

const list = async (page: Page): Promise<void> => {
  const secrets = await readSecrets(page)
  const items = secrets.map((secret) => itemOf(page, secret))
  element('secrets', HTMLUListElement).replaceChildren(listItem('Your PIN', null), ...items)
  toggle('secrets-few', secrets.length === 0)
  toggle('pin-lost', secrets.length > 0)
  toggle('key-add', page.rpId !== null && knowsPasskeys())
  setText('code-make', codeIn(secrets) === null ? 'Make a recovery code' : 'Make a new recovery code')
  show('credentials')
}

/** After a change that did nothing, because another tab or device came first. */
const listAnew = async (page: Page, sentence: string): Promise<void> => {
  await list(page)
  showProblem(sentence)
}

const MEANWHILE =
  'Something else was changed in the meantime, in another window or on another device. Look at the list.'

const isOvertaken = (error: unknown): boolean => isRefusal(error, 'credential_changed') || isRefusal(error, 'not_found')

const send = async (page: Page, path: string, body: object): Promise<void> => {
  await callAsUser(page, `/wallets/${path}`, { body: { ...wallet, ...body } })
}

const askForCode = (page: Page): void =>
  ask({
    title: 'Make a recovery code',
    text: 'It opens your wallets if you forget the PIN. An earlier recovery code then opens nothing any more.',
    go: 'Make the code',
    task: async (credential) => {
      const made = await callAsUser<{ recovery_code: string }>(page, '/wallets/recovery-code', {
        body: { ...wallet, ...credential },
      })
      const since = codeIn(await readSecrets(page))?.created_at
      showCode(
        made.recovery_code,
        whileLoggedIn(page, async () => {
          const isNewest = codeIn(await readSecrets(page))?.created_at === since
          if (!isNewest) return listAnew(page, 'This code opens nothing any more: it was replaced or removed since.')
          await list(page)
          showStatus('Your recovery code is ready. Keep it well.')
        }),
      )
    },
  })

const newPasskey = async (page: Page, rpId: string) => {
  const passkeys = await callAsUser<readonly Passkey[]>(page, '/users/passkeys', { method: 'GET' })
  if (passkeys.length === 0) await addPasskey(page)
  return ownPasskeySecret({ projectId: page.projectId, rpId, userId: currentLogin().claims.sub })
}

const askForPasskey = (page: Page, rpId: string): void =>
  ask({
    title: 'Let a passkey open your wallets',
    text: 'Then your fingerprint, your face or your screen lock opens them, and sets a new PIN if you forget it.',
    go: 'Let a passkey open them',
    task: async (credential) => {
      await send(page, 'passkey-secret', { ...(await newPasskey(page, rpId)), ...credential })
      await list(page)
      showStatus('The passkey opens your wallets from now on.')
    },
  })

const askToRemove = (page: Page, secret: UserSecretItem, name: string): void =>
  ask({
    title: `Remove the ${name}?`,
    text: `Then this ${name} opens your wallets no more. Confirm it with another way that opens them.`,
    go: 'Remove it',
    task: async (credential) => {
      const named = secret.passkey_id === null ? {} : { passkey_id: secret.passkey_id }
      const path = secret.kind === 'passkey' ? 'passkey-secret/remove' : 'recovery-code/remove'
      await send(page, path, { ...named, ...credential }).catch((error: unknown) => {
        const isItself = isRefusal(error, 'invalid_input') && error.message.startsWith('A secret cannot')
        throw isItself ? new UserMessage(`The ${name} cannot remove itself. Confirm it in another way.`) : error
      })
      await list(page)
      showStatus(`The ${name} opens your wallets no more.`)
    },
  })

/** @throws UserMessage at the field for what cannot be the new PIN. */
const typedPin = (credential: Credential): string => {
  const pin = typedCode(input('new-pin-first').value)
  if (!/^[0-9]{6}$/.test(pin)) throw new UserMessage('The new PIN has six digits.', 'new-pin-first')
  if (pin !== typedCode(input('new-pin-again').value)) {
    throw new UserMessage('This is not the same PIN as above. Type it again.', 'new-pin-again')
  }
  const isOld = 'user_pin' in credential && credential.user_pin === pin
  if (isOld) throw new UserMessage('This is the PIN that you have now. Choose another one.', 'new-pin-first')
  return pin
}

const setPin = async (page: Page, credential: Credential): Promise<void> => {
  const new_user_pin = typedPin(credential)
  const proof = 'user_pin' in credential ? { old_user_pin: credential.user_pin } : credential
  await send(page, 'change-user-pin', { new_user_pin, ...proof }).catch((error: unknown) => {
    if (!isRefusal(error, 'pin_obvious')) throw error
    throw new UserMessage('This PIN is easy to guess. Choose another one.', 'new-pin-first')
  })
  await list(page)
  showStatus('The new PIN is set.')
}

export const showCredentials = (page: Page): Promise<void> =>
  whileLoggedIn(page, async () => {
    forgetCode()
    try {
      wallet = await callAsUser<OfWallet>(page, '/credentials/wallet', { method: 'GET' })
    } catch (error) {
      if (!isRefusal(error, 'not_found')) throw error
      show('credentials-none')
      return
    }
    await list(page)
  })()

export const offerCredentials = (page: Page, { leave }: { readonly leave: () => Promise<void> }): void => {
  const { rpId } = page
  const run = (task: (credential: Credential) => Promise<void>) => (credential: Credential) =>
    whileLoggedIn(page, async () => {
      requireFreshLogin()
      try {
        await task(credential)
      } catch (error) {
        if (!isOvertaken(error)) throw error
        await listAnew(page, MEANWHILE)
      }
    })()
  const prove = onCredential(
    page,
    'prove-form',
    'prove-pin',
    run(async (credential) => change?.task(credential)),
  )
  const old = onCredential(
    page,
    'new-pin-form',
    'new-pin-old',
    run((credential) => setPin(page, credential)),
  )
  startWithPin = () => prove('pin')
  offerCode()
  onPress('credentials-show', () => showCredentials(page))
  onPress('code-make', () => askForCode(page))
  if (rpId !== null) onPress('key-add', () => askForPasskey(page, rpId))
  for (const [id, kind] of [
    ['pin-change', 'pin'],
    ['pin-lost', 'code'],
  ] as const) {
    onPress(id, () => {
      old(kind)
      show('new-pin')
    })
  }
  for (const id of ['prove-no', 'new-pin-no']) onPress(id, () => showCredentials(page))
  for (const id of ['credentials-back', 'credentials-none-back']) {
    toggle(id, page.asks === 'login' || page.returnTo !== null)
    onPress(id, leave)
  }
}
