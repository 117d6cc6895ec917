! OpenMP target regions in Fortran: array expressions, a saxpy, a reduction, a matrix product, a device subroutine.
module on_device
  implicit none
contains
  pure real(8) function polynomial(x)
    !$omp declare target
    real(8), intent(in) :: x
    polynomial = ((x - 1d0) * x + 2d0) * x - 3d0
  end function
end module

program fortran
  use omp_lib
  use on_device
  implicit none
  integer, parameter :: n = 1500, m = 20
  real(8) :: x(n), y(n), total, expected
  real(8) :: a(m, m), b(m, m), c(m, m)
  complex(8) :: z(64)
  integer :: i, j, failures
  logical :: on_host

  failures = 0
  on_host = .true.
  !$omp target map(from: on_host)
  on_host = omp_is_initial_device()
  !$omp end target
  if (on_host) call fail("a target region ran on the host")

  do i = 1, n
    x(i) = i * 0.5d0
    y(i) = 1d0
  end do
  !$omp target teams distribute parallel do map(to: x) map(tofrom: y)
  do i = 1, n
    y(i) = 3d0 * x(i) + y(i)
  end do
  do i = 1, n
    if (y(i) /= 3d0 * (i * 0.5d0) + 1d0) call fail("saxpy")
  end do

  total = 0d0
  !$omp target teams distribute parallel do reduction(+:total) map(tofrom: total) map(to: x)
  do i = 1, n
    total = total + x(i)
  end do
  if (total /= n * (n + 1d0) / 4d0) call fail("reduction")

  !$omp target teams distribute parallel do map(to: x) map(from: y)
  do i = 1, n
    y(i) = polynomial(x(i))
  end do
  do i = 1, n
    expected = polynomial(i * 0.5d0)
    if (abs(y(i) - expected) > 1d-15 * abs(expected)) call fail("function")
  end do

  do j = 1, m
    do i = 1, m
      a(i, j) = i + j
      b(i, j) = i - j
    end do
  end do
  !$omp target map(to: a, b) map(from: c)
  !$omp parallel do collapse(2)
  do j = 1, m
    do i = 1, m
      c(i, j) = sum(a(i, :) * b(:, j))
    end do
  end do
  !$omp end target
  if (any(c /= matmul(a, b))) call fail("matrix product")

  !$omp target parallel do map(from: z)
  do i = 1, 64
    z(i) = cmplx(i, -i, 8) * (0d0, 1d0)
  end do
  do i = 1, 64
    if (z(i) /= cmplx(i, i, 8)) call fail("complex")
  end do

  if (failures > 0) stop 1
  print '(a)', 'PASS fortran.f90'
contains
  subroutine fail(what)
    character(*), intent(in) :: what
    print '(2a)', 'FAIL fortran.f90: ', what
    failures = failures + 1
  end subroutine
end program
