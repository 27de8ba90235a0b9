import { Type } from '@sinclair/typebox'
import { t } from 'elysia'
import { closed } from '../http/schema.ts'
import { ChallengeCode } from './schema.ts'

export const ChallengeCodeQuery = t.Object({ code: ChallengeCode }, closed)

export const ChallengeCodeBody = Type.Object(
  { code: ChallengeCode },
  { ...closed, title: 'ChallengeCode', examples: [{ code: '7KQ2-M9XD-0HRT-5VWA-C3EZ-8NPB-4GJS' }] },
)

const Instant = (description: string) => Type.String({ description, examples: ['2026-01-31T12:00:00.000Z'] })

export const ChallengeAsker = Type.Object(
  {
    address: Type.String({ description: 'The IP address of the device that asks; "" where it is not known.' }),
    device: Type.String({ description: 'What it says of itself: its header User-Agent, at most 256 characters.' }),
    created_at: Instant('When it asked.'),
    expires_at: Instant('Until when it can be let in.'),
  },
  { ...closed, title: 'ChallengeAsker' },
)
