/** The one function of asl-validator that tests use; the package has no types. */
declare module 'asl-validator' {
  export default function validate(definition: unknown): { isValid: boolean; errors: unknown[] };
}
