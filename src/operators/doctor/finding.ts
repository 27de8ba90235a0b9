/** `unchecked`: something that comes before it has failed, or it is not set up. */
export const FINDING_STATES = ['ok', 'warning', 'failed', 'unchecked'] as const

/** What one check of an installation has found. No part of it is secret. */
export type Finding = {
  readonly check: string
  readonly state: (typeof FINDING_STATES)[number]
  readonly found: string
  readonly advice: string | null
}

export const findingsOf = (check: string) => ({
  ok: (found: string): Finding => ({ check, state: 'ok', found, advice: null }),
  warning: (found: string, advice: string): Finding => ({ check, state: 'warning', found, advice }),
  failed: (found: string, advice: string): Finding => ({ check, state: 'failed', found, advice }),
  unchecked: (found: string): Finding => ({ check, state: 'unchecked', found, advice: null }),
})
