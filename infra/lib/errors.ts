/** Something that whoever runs `cdk` must do first or write differently; the message says what, and needs no stack trace. */
export class UserError extends Error {}
