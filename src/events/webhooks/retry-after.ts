// The header Retry-After (RFC 9110 §10.2.3): seconds, or a date in one of the three forms of §5.6.7, which all are UTC.
// Pure.

const DATE = [
  /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{5,8}, \d{2}-[A-Z][a-z]{2}-\d{2} \d{2}:\d{2}:\d{2} GMT$/,
  /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/,
] as const

const dateIn = (text: string): number => {
  if (!DATE.some((form) => form.test(text))) return Number.NaN
  return Date.parse(text.endsWith('GMT') ? text : `${text} GMT`)
}

/** @returns how many seconds the header asks to wait from `at` on; 0 if it has another form, or its time is over. */
export const retryAfterSeconds = (header: string, at: Date): number => {
  if (/^\d+$/.test(header)) return Number(header)
  const seconds = Math.ceil((dateIn(header) - at.getTime()) / 1_000)
  return Number.isNaN(seconds) ? 0 : Math.max(0, seconds)
}
