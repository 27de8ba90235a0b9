import { Type } from '@sinclair/typebox'
import { closed, Text } from '../http/schema.ts'

export const EmailField = Text(
  { minLength: 3, maxLength: 254 },
  { description: 'An e-mail address; letter case does not matter.', examples: ['alice@example.com'] },
)

export const EmailBody = Type.Object(
  { email: EmailField },
  { ...closed, title: 'Email', examples: [{ email: 'alice@example.com' }] },
)

export const VerifyEmailBody = Type.Object(
  {
    verification_code: Type.String({
      pattern: '^[0-9]{6}$',
      description: 'The code that was mailed.',
      rule: 'exactly 6 digits',
    }),
  },
  { ...closed, title: 'VerifyEmail', examples: [{ verification_code: '493817' }] },
)
