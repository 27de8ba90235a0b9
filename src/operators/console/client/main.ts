// The console's only script: passkeys. It asks the browser for what a form's data attributes say, puts the answer into
// the form, and sends it like any other form.

import { assertionJson, registrationJson } from '../../../identity/auth/client/passkey-json.ts'

const FAILURES: Readonly<Record<string, string>> = {
  NotAllowedError: 'No passkey was used: you cancelled, it took too long, or this device has none for this address.',
  InvalidStateError: 'This device has a passkey of yours already.',
  SecurityError: 'Passkeys do not work at the address at which this page was opened.',
}

const ask = async (form: HTMLFormElement): Promise<object | null> => {
  const json = JSON.parse(form.dataset.options ?? '{}')
  if (form.dataset.passkey === 'create') {
    const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(json)
    return registrationJson(await navigator.credentials.create({ publicKey }))
  }
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(json)
  return assertionJson(await navigator.credentials.get({ publicKey }))
}

const answer = async (form: HTMLFormElement): Promise<void> => {
  const problem = form.querySelector('[data-problem]')
  const field = form.elements.namedItem('answer')
  if (problem === null || !(field instanceof HTMLInputElement)) return
  problem.textContent = ''
  try {
    const passkey = await ask(form)
    if (passkey === null) throw new Error('This browser gave no passkey.')
    field.value = JSON.stringify(passkey)
    form.submit()
  } catch (error) {
    const known = FAILURES[String(Object(error).name)]
    problem.textContent = known ?? (error instanceof Error ? error.message : 'It did not work.')
  }
}

const knowsPasskeys = 'PublicKeyCredential' in window && 'parseRequestOptionsFromJSON' in PublicKeyCredential

for (const form of document.querySelectorAll<HTMLFormElement>('form[data-passkey]')) {
  const button = form.querySelector('button')
  if (button === null || !knowsPasskeys) continue
  button.hidden = false
  button.addEventListener('click', () => void answer(form))
}
