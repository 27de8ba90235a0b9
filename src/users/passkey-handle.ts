// WebAuthn's user handle (§4 "User Handle"): the 16 bytes of the user's id, which tells nothing of the user. In base64url.

export const handleOf = (userId: string): string => Buffer.from(userId.replaceAll('-', ''), 'hex').toString('base64url')
