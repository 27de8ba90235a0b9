import { type Static, Type } from '@sinclair/typebox'
import { LOGIN_WAYS } from '../../db/words.ts'
import { closed, OneOf, UuidField } from '../http/schema.ts'

const Instant = (description: string) => Type.String({ description, examples: ['2026-01-31T12:00:00.000Z'] })

export const OwnSession = Type.Object(
  {
    id: UuidField("The session's id."),
    current: Type.Boolean({ description: 'It is the session that asks.' }),
    way: OneOf(LOGIN_WAYS, { description: 'How the user logged in.' }),
    created_at: Instant('When it began.'),
    last_refreshed_at: Instant('When its tokens were last made.'),
    expires_at: Instant('When it ends if it is not refreshed.'),
    address: Type.String({ description: 'The IP address from which it began; "" where it is not known.' }),
    device: Type.String({
      description: 'What the device said of itself: its header User-Agent, at most 256 characters.',
    }),
  },
  { ...closed, title: 'OwnSession' },
)
export type OwnSession = Static<typeof OwnSession>

export const OwnSessions = Type.Array(OwnSession)

export const EndSessionsBody = Type.Object(
  { session_id: Type.Optional(UuidField('The session to end; without it, all others than the one that asks.')) },
  { ...closed, title: 'EndSessions', examples: [{ session_id: '5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f' }] },
)

export const EndedSessions = Type.Object(
  { ended: Type.Integer({ minimum: 0, description: 'How many sessions had not ended before.' }) },
  { ...closed, title: 'EndedSessions' },
)
