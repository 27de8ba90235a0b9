// A page of a journal's notes.

import { Type } from '@sinclair/typebox'
import { CONTROL_MODES } from '../../../db/words.ts'
import { Count, Fields, Id, kind, ListOf, LongText, OneOf, OrNull, Text } from './fields.ts'

const at = { about: LongText, at: Text }
const note = Type.Union([
  Fields({ ...kind('transaction'), attempts: ListOf(Fields({ raw: LongText, hash: Text })), ...at }),
  Fields({
    ...kind('wallet'),
    wallet: Fields({
      id: Id,
      projectId: Id,
      ownerId: Text,
      network: Text,
      controlMode: OneOf(CONTROL_MODES),
      keyringId: Id,
    }),
    publicKey: Text,
    ...at,
  }),
  Fields({ ...kind('project'), projectId: Id, isActive: Type.Boolean(), ...at }),
])

export const notesPage = Fields({ notes: ListOf(note), next: OrNull(Count) })
