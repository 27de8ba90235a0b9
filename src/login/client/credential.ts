// The credential that the user types on this page. It goes only to the service.

import { input, onSubmit } from './views.ts'
import { Refused } from './wire.ts'
import { UserMessage } from './words.ts'

/** The part of a request's body that proves that the user agrees. */
export type Credential = { readonly user_pin: string }

/** Runs a task with what was typed. The field is emptied, unless the user only mistyped it. */
export const onCredential = (formId: string, fieldId: string, task: (credential: Credential) => Promise<void>): void =>
  onSubmit(formId, fieldId, async (typed) => {
    if (!/^[0-9]{6}$/.test(typed)) throw new UserMessage('Your PIN has six digits.')
    try {
      await task({ user_pin: typed })
      input(fieldId).value = ''
    } catch (error) {
      if (!(error instanceof Refused && error.code === 'INVALID_SECRET')) input(fieldId).value = ''
      throw error
    }
  })
