// The header Retry-After, by the examples of RFC 9110.

import { describe, expect, test } from 'bun:test'
import { retryAfterSeconds } from '../../src/events/webhooks/retry-after.ts'

const at = (text: string) => new Date(text)

describe('Retry-After', () => {
  test('is a number of seconds (§10.2.3)', () => {
    expect(retryAfterSeconds('120', at('1999-12-31T23:59:59Z'))).toBe(120)
    expect(retryAfterSeconds('0', at('1999-12-31T23:59:59Z'))).toBe(0)
    expect(retryAfterSeconds('99999999999999999999', at('1999-12-31T23:59:59Z'))).toBeGreaterThan(9e18)
  })

  test('or a date (§10.2.3), and the next second if that is not whole', () => {
    expect(retryAfterSeconds('Fri, 31 Dec 1999 23:59:59 GMT', at('1999-12-31T23:57:59Z'))).toBe(120)
    expect(retryAfterSeconds('Fri, 31 Dec 1999 23:59:59 GMT', at('1999-12-31T23:59:58.999Z'))).toBe(1)
  })

  test.each(['Sun, 06 Nov 1994 08:49:37 GMT', 'Sunday, 06-Nov-94 08:49:37 GMT', 'Sun Nov  6 08:49:37 1994'])(
    'in each of the three forms (§5.6.7): %s',
    (text) => expect(retryAfterSeconds(text, at('1994-11-06T08:49:07Z'))).toBe(30),
  )

  test('asks for nothing when its time is over', () => {
    expect(retryAfterSeconds('Sun, 06 Nov 1994 08:49:37 GMT', at('2026-01-01T00:00:00Z'))).toBe(0)
  })

  test.each([
    '',
    '-5',
    '1.5',
    '1e3',
    '60 seconds',
    '2 days',
    '2030-01-01T00:00:00Z',
    'tomorrow',
    'Mon, 5 GMT',
    '60, 60',
  ])('asks for nothing in another form: "%s"', (text) =>
    expect(retryAfterSeconds(text, at('1994-11-06T08:49:07Z'))).toBe(0),
  )
})
